/** A file as Vite imports it with `?raw`: its text. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** A file of tests whose tests run once more, with a KV that fails. */
declare module "*?without-kv";
