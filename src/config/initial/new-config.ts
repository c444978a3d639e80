import { stringify } from 'yaml';
import type { SinkType } from '../../sinks/sink-type.ts';

/** The choices for a new configuration. The values may contain `${NAME}`. */
export interface NewConfig {
  readonly serviceUrl: string;
  /** A duration, as in `poll.every`. */
  readonly every: string;
  /** By sink type: the answer to the type's setup question. Types that are not wanted are absent. */
  readonly sinks: Readonly<Record<string, string>>;
  /** The country of phone numbers without a country code: `AU`. */
  readonly region?: string | undefined;
}

/** The first lines of every configuration that leadsync writes. */
const CONFIG_HEAD = `# yaml-language-server: $schema=./leadsync.schema.json
# With the line above, editors complete and check this file. Create the schema: \`leadsync schema > leadsync.schema.json\`
#
# leadsync.yaml: what to read, and where to deliver it. \`leadsync validate\` checks it.
# \${NAME} is an environment variable, \${NAME:-default} one with a default, $$ a dollar sign.
data_dir: ./data                     # ledger, tokens, lock; relative to this file
`;

/** Returns a configuration with comments. If the choices are valid, the configuration is valid once its environment variables are set. */
export function newConfig(
  { serviceUrl, every, sinks, region }: NewConfig,
  sinkTypes: readonly SinkType[],
): string {
  const wanted = sinkEntries(
    sinkTypes.filter(({ type }) => sinks[type] !== undefined),
    ({ type }) => sinks[type] ?? '',
    region,
  );
  const none = '{}                            # none yet: leads are only recorded in the ledger';
  return `${CONFIG_HEAD}
sources:
  main:                              # a name of your choice; it appears in log lines, metrics and tables
    base_url: ${yamlText(serviceUrl)}
    client_id: \${LEADS_CLIENT_ID}
    client_secret: \${LEADS_CLIENT_SECRET}   # or  { file: /run/secrets/leads }
    poll:
      every: ${yamlText(every)}

sinks:${wanted.length === 0 ? ` ${none}\n` : `\n${wanted.join('')}`}`;
}

/**
 * Returns an entry of `sinks` for each type, indented by two spaces. `answerFor` returns plain text, not YAML. A sink whose usual name is
 * taken is named after its type.
 */
export function sinkEntries(
  types: readonly SinkType[],
  answerFor: (type: SinkType) => string,
  region?: string,
): readonly string[] {
  const taken = new Set<string>();
  return types.map((type) => {
    const entry = type.setup.entry(yamlText(answerFor(type)), region);
    const [head = '', name = ''] = /^ {2}([\w-]+): */.exec(entry) ?? [];
    const own = taken.has(name) ? type.type : name;
    taken.add(own);
    return `${`  ${own}: `.padEnd(head.length)}${entry.slice(head.length)}`;
  });
}

/** Returns the names of the sinks in a new configuration whose destinations `leadsync setup` must prepare. */
export function sinksToSetUp(config: string, sinkTypes: readonly SinkType[]): readonly string[] {
  const needing = new Set(sinkTypes.flatMap(({ type, setup }) => (setup.needsSetup ? [type] : [])));
  const entries = config.matchAll(/^ {2}([\w-]+):.*\n {4}type: (\w+)$/gm);
  return [...entries].flatMap(([, name = '', type = '']) => (needing.has(type) ? [name] : []));
}

/** Returns the environment variables that a configuration uses without a default, in order of appearance. */
export function variablesIn(config: string): string[] {
  const code = config.replaceAll(/(^|\s)#.*$/gm, '');
  return [...new Set([...code.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = '']) => name))];
}

/** Returns the text as a one-line YAML value. Doubles each dollar sign that does not begin a variable. */
function yamlText(text: string): string {
  const value = text.replaceAll(/\$(?!\{)/g, '$$$$');
  const oneLine = {
    lineWidth: 0,
    blockQuote: false,
    doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY,
  };
  return stringify(value, oneLine).trimEnd();
}
