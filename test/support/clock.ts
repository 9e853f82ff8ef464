/** Far in the future, so that the runtime, whose own clock is real, runs no alarm before a test does. */
export const NOW = new Date("2035-01-01T00:00:00.000Z");
