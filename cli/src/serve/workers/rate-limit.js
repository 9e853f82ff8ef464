/**
 * The binding `ratelimit` of Cloudflare for one machine: fixed windows that are counted in this process. A key's window begins
 * with its first call. Of more keys than KEYS_MAX, those with the oldest windows are forgotten.
 */
const KEYS_MAX = 100_000;

export default function ({ limit, period }) {
  /** In the order of their beginnings. */
  const windows = new Map();
  return {
    async limit({ key }) {
      const now = Date.now();
      let window = windows.get(key);
      if (!window || now >= window.endsAt || window.endsAt > now + period * 1000) {
        windows.delete(key);
        window = { endsAt: now + period * 1000, calls: 0 };
        windows.set(key, window);
        if (windows.size > KEYS_MAX) windows.delete(windows.keys().next().value);
      }
      window.calls += 1;
      return { success: window.calls <= limit };
    },
  };
}
