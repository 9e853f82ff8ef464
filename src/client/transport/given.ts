/**
 * Throws a `TypeError` if one of these options is present and `undefined`: left out, it would widen the call. The list of an option
 * decides alone, so a call names here each option without which it does more than with any value.
 */
export function refuseUndefined<Input extends object>(input: Input, names: readonly (keyof Input & string)[]): void {
  const name = names.find((each) => each in input && input[each] === undefined);
  if (name !== undefined)
    throw new TypeError(
      `${name} is undefined, and without it the call would do more. Give a value, or leave ${name} out.`,
    );
}
