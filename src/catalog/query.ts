/** Something that a documented query asks for: `:since` in its SQL. */
export interface Parameter {
  readonly name: string;
  readonly type: 'time' | 'id' | 'text';
  readonly means: string;
  /** Days back from now, where nothing is given for a time. */
  readonly daysAgo?: number;
  /** What stands for it in the documentation, where nothing else can. */
  readonly example?: string;
}

/** A question about the store that is documented, and runs as it is on every engine that holds the store. */
export interface Query {
  /** `leadsync query @name` */
  readonly name: string;
  /** The question, in a few words. */
  readonly asks: string;
  /** What has to be known to read the answer. */
  readonly notes: string;
  readonly parameters: readonly Parameter[];
  readonly sql: string;
}

/** The engines that hold the store. */
export type Engine = 'sqlite' | 'postgres';

/** From when on leads count, unless another time is asked for. */
export const since: Parameter = {
  name: 'since',
  type: 'time',
  means: 'leads that were created from then on',
  daysAgo: 30,
};

/** The query as it can be pasted into a tool of that engine, with each parameter's default or example in its place. */
export function pasted({ sql, parameters }: Query, engine: Engine): string {
  return parameters.reduce(
    (text, parameter) => text.replaceAll(`:${parameter.name}`, pastedValue(parameter, engine)),
    sql,
  );
}

/** What stands for a parameter in a pasted query: its default or example. */
export function pastedValue({ type, daysAgo, example = '' }: Parameter, engine: Engine): string {
  if (daysAgo !== undefined)
    return engine === 'sqlite'
      ? `strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-${daysAgo} days')`
      : `now() - interval '${daysAgo} days'`;
  return type === 'id' ? example : `'${example}'`;
}
