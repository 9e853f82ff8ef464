const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Ctrl-C may reach this process twice: from the terminal, and from `npx ug`, if the report of the first one is late. */
const SAME_SIGNAL_MS = 500;

/**
 * Calls `stop` at the first signal, and ends the process at the second. Returns a function that removes the
 * handlers, unless there was a signal: its second copy may still come.
 */
export function onStopSignal(stop: () => void): () => void {
  let stoppedAt: number | undefined;
  const take = () => {
    // To `npx ug`, which then passes no copy on.
    if (process.connected) process.send?.("signal");
    if (stoppedAt !== undefined && Date.now() - stoppedAt > SAME_SIGNAL_MS) process.exit(1);
    if (stoppedAt === undefined) stop();
    stoppedAt ??= Date.now();
  };
  for (const signal of SIGNALS) process.on(signal, take);
  return () => {
    if (stoppedAt !== undefined) return;
    for (const signal of SIGNALS) process.off(signal, take);
  };
}
