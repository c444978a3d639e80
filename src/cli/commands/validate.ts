import { configWarnings } from '../../config/config-warnings.ts';
import type { Config } from '../../config/contract/config.ts';
import { ConfigError } from '../../config/contract/config-error.ts';
import { addressesToRegister } from '../../operations/login-redirect-addresses.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { configOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { printWarnings } from '../shell/print-warnings.ts';

/** `leadsync validate`: checks the configuration. Opens no connection. */
export const command = defineCommand<{ json?: boolean }>({
  examples: [
    'leadsync validate',
    'leadsync validate -c /etc/leadsync.yaml',
    "leadsync validate --json | jq '.faults[] | .path'",
  ],
  notes:
    'If there are faults, it reports each one with file:line:column, and exits with 78. Warnings, on standard error, do not change the exit code.',
  declare: (command) => command.option('--json', 'print the result as JSON, with faults and warnings'),
  run: async (options, surroundings) => {
    const { stdout, stderr } = surroundings;
    try {
      const config = configOf(options, surroundings);
      stdout.write(options.json ? printJson(asJson(config)) : `${inWords(config)}\n`);
      if (!options.json && config.adminLogin) stdout.write(`admin.oidc: ${addressesToRegister(config)}\n`);
      if (!options.json) printWarnings(config, stderr);
      return ExitCode.done;
    } catch (error) {
      if (!options.json || !(error instanceof ConfigError)) throw error;
      stdout.write(printJson({ valid: false, faults: error.faults, warnings: [] }));
      return ExitCode.configuration;
    }
  },
});

function inWords({ file, sources, sinks }: Config): string {
  const disabled = sinks.filter(({ enabled }) => !enabled).length;
  const enabled = disabled > 0 ? `, ${disabled} of them disabled` : '';
  return `${file} is valid: ${countOf(sources.length, 'source')}, ${countOf(sinks.length, 'sink')}${enabled}.`;
}

function asJson(config: Config) {
  const { file, sources, sinks } = config;
  return {
    valid: true,
    faults: [],
    warnings: configWarnings(config),
    file,
    sources: sources.map(({ name }) => ({ name })),
    sinks: sinks.map(({ name, type, enabled }) => ({ name, type: type.type, enabled })),
  };
}
