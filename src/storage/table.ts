/** The column of a field: `createdAt` is in `created_at`. */
export const columnOf = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** One table, or some of its columns. Each statement is a complete text, because the runtime caches prepared ones by their text. */
export class Table<Row extends Record<string, SqlStorageValue>> {
  readonly #sql: SqlStorage;
  readonly #name: string;
  readonly #columns: ReadonlyMap<keyof Row & string, string>;
  readonly #selected: string;

  constructor(sql: SqlStorage, name: string, fields: readonly (keyof Row & string)[]) {
    this.#sql = sql;
    this.#name = name;
    this.#columns = new Map(fields.map((field) => [field, columnOf(field)]));
    const selected = [...this.#columns].map(([field, column]) => (column === field ? field : `${column} AS ${field}`));
    this.#selected = selected.join(", ");
  }

  /** The rows of a condition, which may end with their order and a limit. */
  list(condition: string, ...values: SqlStorageValue[]): Row[] {
    return this.#sql.exec<Row>(`SELECT ${this.#selected} FROM ${this.#name} WHERE ${condition}`, ...values).toArray();
  }

  /** The first row of a condition. */
  find(condition: string, ...values: SqlStorageValue[]): Row | undefined {
    return this.list(`${condition} LIMIT 1`, ...values)[0];
  }

  /** Whether a condition has a row. */
  has(condition: string, ...values: SqlStorageValue[]): boolean {
    return this.#sql.exec(`SELECT 1 FROM ${this.#name} WHERE ${condition} LIMIT 1`, ...values).toArray().length > 0;
  }

  /** The number that an aggregate has over the whole table, such as `count(*)`. */
  number(aggregate: string): number {
    return this.#sql.exec<{ number: number }>(`SELECT ${aggregate} AS number FROM ${this.#name}`).one().number;
  }

  /** Writes the fields that a row gives. */
  insert(row: Given<Row>, verb: InsertVerb = "INSERT"): void {
    const { statement, values } = this.#insertion(row, verb);
    this.#sql.exec(statement, ...values);
  }

  /** The same, and returns the row as the table has it. */
  add(row: Given<Row>): Row {
    const { statement, values } = this.#insertion(row, "INSERT");
    return this.#sql.exec<Row>(`${statement} RETURNING ${this.#selected}`, ...values).one();
  }

  #insertion(row: Given<Row>, verb: InsertVerb): { statement: string; values: SqlStorageValue[] } {
    const columns: string[] = [];
    const values: SqlStorageValue[] = [];
    for (const [field, column] of this.#columns) {
      const value = row[field];
      if (value === undefined) continue;
      columns.push(column);
      values.push(value);
    }
    const marks = columns.map(() => "?").join(", ");
    return { statement: `${verb} INTO ${this.#name} (${columns.join(", ")}) VALUES (${marks})`, values };
  }

  /** Sets one field of the row with this id. */
  set(id: number, field: keyof Row & string, value: SqlStorageValue): void {
    this.#sql.exec(`UPDATE ${this.#name} SET ${this.#columns.get(field)} = ? WHERE id = ?`, value, id);
  }

  /** Deletes the rows of a condition. */
  delete(condition: string, ...values: SqlStorageValue[]): void {
    this.#sql.exec(`DELETE FROM ${this.#name} WHERE ${condition}`, ...values);
  }
}

type InsertVerb = "INSERT" | "INSERT OR REPLACE" | "INSERT OR IGNORE";

type Given<Row> = { [Field in keyof Row]?: Row[Field] | undefined };
