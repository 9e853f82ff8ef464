import {
  DATABASE_PAGE_BYTES,
  DECOMPOSED_UNIT_WEIGHT,
  SCAN_TURN_SHARE,
  SEARCH_STEP_ROWS,
  SEARCH_TURN_BYTES_MAX,
  SEARCH_TURN_ROWS_MAX,
  SEARCH_TURN_UNITS_MAX,
} from "../../../common/limits.ts";
import type { ScannedGroup } from "../../storage/group-store.ts";
import { isAscii } from "./folding.ts";

/** What a row has besides its texts: numbers, tokens and times. */
const ROW_BYTES = 100;

/** The bytes of a group's row that a step reads. */
const bytesRead = (rows: number, bytes: number): number =>
  Math.min(DATABASE_PAGE_BYTES * rows, ROW_BYTES * rows + bytes);

/** How many bytes of each group the step before has read. The first step takes a row to fill a page. */
export class RowSize {
  bytes = DATABASE_PAGE_BYTES;
}

/** How much one turn of a search or a count has read of the groups, and whether it has to end. */
export class ScanTurn {
  readonly #size: RowSize;
  #rows = 0;
  #bytes = 0;
  #units = 0;

  constructor(size: RowSize) {
    this.#size = size;
  }

  get isOver(): boolean {
    return this.#part >= 1;
  }

  /** Whether the turn has folded so many texts, or found so large groups, that it ends within a step. */
  get areTextsOver(): boolean {
    return this.#units >= SEARCH_TURN_UNITS_MAX;
  }

  /** How much the turn takes of the thread, as a share of a full page of a list. */
  get share(): number {
    return SCAN_TURN_SHARE * Math.min(1, this.#part);
  }

  get #part(): number {
    return Math.max(
      this.#rows / SEARCH_TURN_ROWS_MAX,
      this.#bytes / SEARCH_TURN_BYTES_MAX,
      this.#units / SEARCH_TURN_UNITS_MAX,
    );
  }

  /** How many groups the next step may read. */
  get rowsOfStep(): number {
    const rowsOfBytes = Math.ceil((SEARCH_TURN_BYTES_MAX - this.#bytes) / this.#size.bytes);
    return Math.max(1, Math.min(SEARCH_STEP_ROWS, SEARCH_TURN_ROWS_MAX - this.#rows, rowsOfBytes));
  }

  /** Counts a step that has read so many groups of so many bytes. */
  countStep({ rows, bytes }: { rows: number; bytes: number }): void {
    const read = bytesRead(rows, bytes);
    if (rows > 0) this.#size.bytes = read / rows;
    this.#rows += rows;
    this.#bytes += read;
  }

  /** Counts the texts of a group, which were folded. */
  countTexts({ name, providedId }: ScannedGroup): void {
    this.#units += weightOf(name) + weightOf(providedId);
  }

  /** Counts a group of so many bytes that was found. */
  countFound(bytes: number): void {
    this.#units += bytes;
  }
}

const weightOf = (text: string): number => (isAscii(text) ? 1 : DECOMPOSED_UNIT_WEIGHT) * text.length;
