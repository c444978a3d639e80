import { printJson } from '../../platform/text/printable.ts';
import { buildInfo } from '../shell/build-info.ts';
import { defineCommand } from '../shell/command.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync version`: prints the build of this leadsync and the platform that it runs on. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync version', 'leadsync version --json | jq -r .commit'],
  notes: '`leadsync --version` prints the version alone.',
  declare: (command) => command.option('--json', 'print the versions as JSON'),
  run: async ({ json }, { stdout }) => {
    const info = buildInfo();
    const { version, commit, built, node, sqlite, platform } = info;
    const text = [
      `leadsync ${version}`,
      `commit   ${commit}`,
      `built    ${built ?? 'not built: this is a checkout'}`,
      `Node     ${node} (${platform})`,
      `SQLite   ${sqlite}`,
    ];
    stdout.write(json ? printJson(info) : `${text.join('\n')}\n`);
    return ExitCode.done;
  },
});
