/** The failures that `ug` reports to its user. Neither shows a stack trace. */

/** A failure that the user can fix: `ug` prints its message, and exits with 1. */
export class CommandError extends Error {}

/** A wrong command line: `ug` prints its message and how to get help, and exits with 2. */
export class UsageError extends CommandError {}
