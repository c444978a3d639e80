import { stringify } from 'yaml';
import type { SinkType } from '../../sinks/sink.ts';

/** What a new configuration is made of. Texts may hold `${NAME}`. */
export interface NewConfig {
  readonly serviceUrl: string;
  /** A duration, as in `poll.every`. */
  readonly every: string;
  /** What the question of each type of sink that is wanted was answered with. */
  readonly sinks: Readonly<Record<string, string>>;
}

/** The beginning of every configuration that leadsync writes. */
const CONFIG_HEAD = `# yaml-language-server: $schema=./leadsync.schema.json
# The line above gives an editor completion and checks, once \`leadsync schema > leadsync.schema.json\` has made that file.
#
# leadsync.yaml: what to read, and where to bring it. \`leadsync validate\` says what is wrong with it.
# \${NAME} is a variable of the environment, \${NAME:-default} one with a default, $$ a dollar.
data_dir: ./data                     # ledger, tokens, lock; relative to this file
`;

/** A commented configuration. Valid once its variables are set and what it is made of is valid. */
export function newConfig({ serviceUrl, every, sinks }: NewConfig, sinkTypes: readonly SinkType[]): string {
  const wanted = sinkTypes.flatMap((type) => {
    const answer = sinks[type.type];
    return answer === undefined ? [] : sinkEntry(type, answer);
  });
  const none = '{}                            # none yet: leads are only remembered in the ledger';
  return `${CONFIG_HEAD}
sources:
  main:                              # a name of your choice: it is in every log line, metric and table
    base_url: ${yamlText(serviceUrl)}
    client_id: \${LEADS_CLIENT_ID}
    client_secret: \${LEADS_CLIENT_SECRET}   # or  { file: /run/secrets/leads }
    poll:
      every: ${yamlText(every)}

sinks:${wanted.length === 0 ? ` ${none}\n` : `\n${wanted.join('')}`}`;
}

/** An entry in `sinks`, in lines that begin with two spaces; what was answered is a text. */
export function sinkEntry({ setup }: SinkType, answer: string): string {
  return setup.entry(yamlText(answer));
}

/** The variables that a configuration needs, in order. */
export function variablesIn(config: string): string[] {
  const code = config.replaceAll(/(^|\s)#.*$/gm, '');
  return [...new Set([...code.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = '']) => name))];
}

/** A text as a value of YAML, in one line. A dollar that begins no variable is doubled, as leadsync reads it. */
function yamlText(text: string): string {
  const value = text.replaceAll(/\$(?!\{)/g, '$$$$');
  const oneLine = {
    lineWidth: 0,
    blockQuote: false,
    doubleQuotedMinMultiLineLength: Number.POSITIVE_INFINITY,
  };
  return stringify(value, oneLine).trimEnd();
}
