/**
 * The headers of each answer of the console. Pages load nothing from other origins, and have no inline styles and scripts. With
 * `no-referrer` a browser may send `Origin: null` with a form, so this origin gets the referrer.
 */
export const PROTECTION = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};
