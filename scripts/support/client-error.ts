import { UserGroupServiceError } from "../../src/client/index.ts";
import { CommandError, isRedirect, notTheService, redirected, unreachable } from "../command.ts";
import { escapeInvisible } from "./printable.ts";

/** The error to show for an error of a call to the service at `url`. `refused` makes the one for a refused credential. */
export function commandErrorOf(error: unknown, url: URL, refused: (code: string) => CommandError): unknown {
  if (!(error instanceof UserGroupServiceError)) return error;
  const { code, status, message } = error;
  if (code === "network_error" || code === "timeout") return unreachable(url);
  if (code === "unexpected_answer")
    return status !== undefined && isRedirect(status) ? redirected(url) : notTheService(url, status);
  if (status === 401) return refused(code);
  return new CommandError(escapeInvisible(message));
}
