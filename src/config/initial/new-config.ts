import { stringify } from 'yaml';
import type { SinkType } from '../../sinks/sink.ts';

/** The choices for a new configuration. Texts may contain `${NAME}`. */
export interface NewConfig {
  readonly serviceUrl: string;
  /** A duration, as in `poll.every`. */
  readonly every: string;
  /** By sink type: the answer to the type's setup question. Types that are not wanted are absent. */
  readonly sinks: Readonly<Record<string, string>>;
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
export function newConfig({ serviceUrl, every, sinks }: NewConfig, sinkTypes: readonly SinkType[]): string {
  const wanted = sinkTypes.flatMap((type) => {
    const answer = sinks[type.type];
    return answer === undefined ? [] : sinkEntry(type, answer);
  });
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

/** Returns the entry of a sink in `sinks`, indented by two spaces. `answer` is plain text, not YAML. */
export function sinkEntry({ setup }: SinkType, answer: string): string {
  return setup.entry(yamlText(answer));
}

/** Returns the environment variables that a configuration uses without a default, in order of appearance. */
export function variablesIn(config: string): string[] {
  const code = config.replaceAll(/(^|\s)#.*$/gm, '');
  return [...new Set([...code.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = '']) => name))];
}

/** Returns a text as a one-line YAML value. Doubles each dollar sign that does not begin a variable. */
function yamlText(text: string): string {
  const value = text.replaceAll(/\$(?!\{)/g, '$$$$');
  const oneLine = {
    lineWidth: 0,
    blockQuote: false,
    doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY,
  };
  return stringify(value, oneLine).trimEnd();
}
