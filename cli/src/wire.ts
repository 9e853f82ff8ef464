/** An item of the client with the names of the wire. Only its own fields get them, not the fields of its fields. */
export const toWire = (item: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(item).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
