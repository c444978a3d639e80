import type { SecretOption } from '../../config/contract/config.ts';
import type { TextOptions } from './problem.ts';

/**
 * Returns the next step for a sink whose destination answers 401 or 403: the options of the sink that hold secrets, and how a change takes
 * effect; with `namesOrigins`, also where each secret comes from. `secrets` may contain options of other sinks.
 */
export function fixCredentials(
  sink: string,
  secrets: readonly SecretOption[],
  { command, namesOrigins = false }: Pick<TextOptions, 'command' | 'namesOrigins'>,
): string {
  const beginning = `sinks.${sink}.`;
  const own = secrets.filter(({ path }) => path.startsWith(beginning));
  if (own.length === 0)
    return `Give leadsync access at the destination, or give the sink its credentials, then ${command('reload')}`;
  const options = own.map((one) => {
    const option = `\`${one.path.slice(beginning.length)}\``;
    return namesOrigins ? `${option} (${originOf(one)})` : option;
  });
  const applied = [
    own.some(({ file }) => file !== undefined) && `${command('reload')} applies a changed file`,
    own.some(({ variables }) => variables.length > 0) &&
      'a changed environment variable needs a restart of leadsync',
  ];
  return `Correct the sink's credentials, or their permissions at the destination: ${options.join(', ')}. To apply: ${applied.filter(Boolean).join('; ')}`;
}

function originOf({ variables, file }: SecretOption): string {
  const named = variables.map((name) => `environment variable \`${name}\``);
  return [...named, ...(file === undefined ? [] : [`file \`${file}\``])].join(', ');
}
