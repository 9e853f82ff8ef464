/** PGlite, which has one connection, as a pool that gives it to one caller after the other. */
import type { PGlite } from "@electric-sql/pglite";

/** The part of PGlite's connection that is used. */
type Connection = Pick<PGlite, "query"> & { release(): void };

/** A pool of one connection. A product with a PostgreSQL server has `new pg.Pool()` in its place. */
export function poolOf(database: PGlite): { connect(): Promise<Connection> } {
  let last = Promise.resolve();
  return {
    connect: async () => {
      const before = last;
      const { promise, resolve } = withResolvers();
      last = promise;
      await before;
      return { query: (sql, params, options) => database.query(sql, params, options), release: resolve };
    },
  };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
