type Fields = Record<string, unknown>;

/** One JSON object per line, whose fields Workers Logs can search. No field may hold a credential or a body. */
const line = (level: "info" | "warn" | "error", fields: Fields): string =>
  JSON.stringify({ time: new Date().toISOString(), level, ...fields });

export const log = {
  info: (fields: Fields) => console.info(line("info", fields)),
  warn: (fields: Fields) => console.warn(line("warn", fields)),
  error: (fields: Fields) => console.error(line("error", fields)),
};
