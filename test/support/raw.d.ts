/** A file as Vite imports it with `?raw`: its text. */
declare module "*?raw" {
  const text: string;
  export default text;
}
