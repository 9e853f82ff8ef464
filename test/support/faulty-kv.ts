/** The faults of a write to KV. */
const FAULTS = ["none", "late", "lost", "twice", "refused", "refused but done"] as const;

type Write = { key: string; value: string | null };

/**
 * A KV that keeps none of its promises: writes take effect late, never, twice, in any order, or after they were reported as
 * failed; a read takes time, fails, or returns any earlier value of the key; and no entry expires. `pass` moves the clock.
 */
export class FaultyKv {
  readonly counts: Record<string, number> = {};
  readonly #random: (below: number) => number;
  readonly #pass: (seconds: number) => void;
  readonly #versions = new Map<string, (string | null)[]>();
  #pending: Write[] = [];

  constructor(random: (below: number) => number, pass: (seconds: number) => void) {
    this.#random = random;
    this.#pass = pass;
  }

  async get(key: string): Promise<string | null> {
    this.#applyPending();
    // Time passes while the Worker waits for the answer.
    this.#pass(this.#pick([0, 0, 0, 0, 0, 1, 30, 90]));
    const versions = this.#versions.get(key) ?? [];
    const outcome = this.#pick(["newest", "newest", "newest", "any", "any", "missing", "failed"]);
    this.#count(`read ${outcome}`);
    if (outcome === "failed") throw new Error("KV failed to read.");
    if (outcome === "missing") return null;
    return (outcome === "newest" ? versions.at(-1) : this.#pick(versions)) ?? null;
  }

  put(key: string, value: string): Promise<void> {
    return this.#write({ key, value });
  }

  delete(key: string): Promise<void> {
    return this.#write({ key, value: null });
  }

  async #write(write: Write): Promise<void> {
    const fault = this.#pick([...FAULTS, "none", "none"] as const);
    this.#count(`${write.value === null ? "delete" : "write"} ${fault}`);
    if (fault === "none" || fault === "twice") this.#apply(write);
    if (fault === "late" || fault === "twice" || fault === "refused but done") this.#pending.push(write);
    if (fault === "refused" || fault === "refused but done") throw new Error("KV refused a write.");
  }

  /** Applies some of the pending writes. */
  #applyPending(): void {
    this.#pending = this.#pending.filter((write) => {
      const isApplied = this.#random(3) === 0;
      if (isApplied) this.#apply(write);
      return !isApplied;
    });
  }

  #apply({ key, value }: Write): void {
    this.#versions.set(key, [...(this.#versions.get(key) ?? []), value]);
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[this.#random(values.length)] as Value;
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }
}
