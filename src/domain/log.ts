/** One JSON object per line, whose fields Workers Logs can search. No field may hold a credential or a body. */
const line = (fields: Record<string, unknown>) => JSON.stringify(fields);

export const log = {
  info: (fields: Record<string, unknown>) => console.info(line(fields)),
  warn: (fields: Record<string, unknown>) => console.warn(line(fields)),
  error: (fields: Record<string, unknown>) => console.error(line(fields)),
};
