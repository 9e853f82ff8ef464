/** The options of `Options` that a user may leave out, as optional ones. */
type Given<Options> = { [Name in keyof Options as undefined extends Options[Name] ? never : Name]: Options[Name] } & {
  [Name in keyof Options as undefined extends Options[Name] ? Name : never]?: Exclude<Options[Name], undefined>;
};

/** The options that the user has given. The client refuses an `undefined` without which a call would do more. */
export const given = <Options extends object>(options: Options): Given<Options> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<Options>;
