import { stringify } from 'yaml';

/** What a new configuration is made of. Texts may hold `${NAME}`. */
export interface NewConfig {
  readonly serviceUrl: string;
  /** A duration, as in `poll.every`. */
  readonly every: string;
  /** Each type of sink that is wanted, with what its one question was answered with. */
  readonly sinks: Readonly<Partial<Record<NewSinkType, string>>>;
}

/** What `init` can write. It asks for every registered type of sink, so each has to be here. */
export type NewSinkType = 'webhook' | 'csv' | 'parquet' | 'postgres';

/** The beginning of every configuration that leadsync writes. */
export const CONFIG_HEAD = `# yaml-language-server: $schema=./leadsync.schema.json
# The line above gives an editor completion and checks, once \`leadsync schema > leadsync.schema.json\` has made that file.
#
# leadsync.yaml: what to read, and where to bring it. \`leadsync validate\` says what is wrong with it.
# \${NAME} is a variable of the environment, \${NAME:-default} one with a default, $$ a dollar.
data_dir: ./data                     # ledger, tokens, lock; relative to this file
`;

/** A commented configuration. Valid once its variables are set and what it is made of is valid. */
export function newConfig({ serviceUrl, every, sinks }: NewConfig): string {
  const wanted = Object.entries(sinks).map(([type, answer]) => SINKS[type as NewSinkType](yamlText(answer)));
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

/** The variables that a configuration needs, in order. */
export function variablesIn(config: string): string[] {
  const code = config.replaceAll(/(^|\s)#.*$/gm, '');
  return [...new Set([...code.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map(([, name = '']) => name))];
}

const SINKS: Readonly<Record<NewSinkType, (answer: string) => string>> = {
  webhook: (url) => `  crm:                               # one signed request per lead
    type: webhook
    url: ${url}
    secret: \${CRM_WEBHOOK_SECRET}    # the receiver has the same: echo "whsec_$(openssl rand -base64 32)" makes one
`,
  csv: (
    directory,
  ) => `  drop:                              # complete CSV files, made when 1000 leads wait or the oldest has waited 5 minutes
    type: csv
    directory: ${directory}
    batch: { max: 1000, wait: 5m }
`,
  parquet: (
    directory,
  ) => `  archive:                           # complete Parquet files in a folder for each day
    type: parquet
    directory: ${directory}
    batch: { max: 10000, wait: 15m }
`,
  postgres: (
    url,
  ) => `  warehouse:                         # tables leads and lead_answers, made and migrated by leadsync
    type: postgres
    url: ${url}
    schema: leadsync
`,
};

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
