/** A parameter of a documented query. The parameter `since` is `:since` in the SQL. */
export interface Parameter {
  readonly name: string;
  readonly type: 'time' | 'id' | 'text';
  readonly means: string;
  /** The default of a time, as a number of days before now. */
  readonly daysAgo?: number;
  /** The value to show in the documentation if there is no default. */
  readonly example?: string;
}

/** A documented query. Its SQL runs unchanged on every engine that can hold the store. */
export interface Query {
  /** The name in `leadsync query @name`. */
  readonly name: string;
  /** The question, in a few words. */
  readonly asks: string;
  /** What a reader of the result must know. */
  readonly notes: string;
  readonly parameters: readonly Parameter[];
  readonly sql: string;
}

/** The engines that can hold the store. */
export type Engine = 'sqlite' | 'postgres';

/** The parameter for the earliest creation time of leads. */
export const since: Parameter = {
  name: 'since',
  type: 'time',
  means: 'only leads created at this time or later',
  daysAgo: 30,
};

/** Returns the SQL to paste into a tool for an engine, with the default or the example in place of each parameter. */
export function pasted({ sql, parameters }: Query, engine: Engine): string {
  return parameters.reduce(
    (text, parameter) => text.replaceAll(`:${parameter.name}`, pastedValue(parameter, engine)),
    sql,
  );
}

/** Returns the SQL for a parameter's default or example. */
export function pastedValue({ type, daysAgo, example = '' }: Parameter, engine: Engine): string {
  if (daysAgo !== undefined)
    return engine === 'sqlite'
      ? `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-${daysAgo} days')`
      : `now() - interval '${daysAgo} days'`;
  return type === 'id' ? example : `'${example}'`;
}
