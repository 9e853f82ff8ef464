/** A Rate Limiting binding that counts in memory, as the platform's does, and refuses no call. */
export default () => {
  const counts = new Map();
  return {
    async limit({ key }) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      return { success: true };
    },
  };
};
