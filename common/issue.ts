/** One fault of a request: where it is (the keys from the top down) and how to fix it. */
export type Issue = { path: (string | number)[]; message: string };
