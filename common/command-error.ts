/** Details of a failure for programs: a code, and the request id that the service has logged. */
export type FailureDetails = { code?: string; requestId?: string | undefined };

/** A failure that the user of a command can fix. The command prints the message, without a stack. */
export class CommandError extends Error {
  readonly code: string;
  readonly requestId: string | undefined;

  constructor(message: string, { code = "failed", requestId }: FailureDetails = {}) {
    super(message);
    this.code = code;
    this.requestId = requestId;
  }
}

/** A command that was typed wrongly. It exits with 2. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, { code: "wrong_usage" });
  }
}

/** Whether no server answered, or one that is not the service. */
export const isUnreachable = ({ code }: CommandError): boolean => ["unreachable", "not_the_service"].includes(code);
