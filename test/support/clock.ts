/** Far ahead, so that no alarm of the runtime, whose own clock goes on, is due before a test runs it. */
export const NOW = new Date("2035-01-01T00:00:00.000Z");
