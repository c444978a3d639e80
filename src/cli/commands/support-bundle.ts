import { gzipSync } from 'node:zlib';
import { tar } from '../../platform/files/tar.ts';
import { printBytes, printStamp } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { writeNewFile } from '../shell/write-new-file.ts';
import { type SupportFile, supportFiles } from '../support-bundle/support-files.ts';

interface Options {
  readonly output?: string;
  readonly log?: string;
}

/** `leadsync support-bundle`: collects diagnostics in one file, which the operator can send to a person who helps with a problem. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync support-bundle',
    'leadsync support-bundle --output /tmp/leadsync.tar.gz --log /var/log/leadsync.log',
    'journalctl -u leadsync -n 2000 -o cat | leadsync support-bundle --log -',
  ],
  notes:
    "Works whether leadsync is running or not. Files whose content is not available are left out and listed. From a log, it takes only leadsync's own JSON lines, which hold no personal data.",
  declare: (command) =>
    command
      .option(
        '--output <file>',
        'the output file; default: leadsync-support-TIME.tar.gz in the current folder',
      )
      .option('--log <file>', "a file with leadsync's log; - for standard input"),
  run: async (options, surroundings) => {
    const { clock, stdout } = surroundings;
    const now = clock.now();
    const name = `leadsync-support-${printStamp(now).replace(/\.\d+/, '')}`;
    const files = await supportFiles(options, surroundings);
    const contents = files.map(summaryLine).join('');
    const entries = [{ name: 'CONTENTS.txt', content: contents }, ...files].flatMap(
      ({ name: own, content }) =>
        content === undefined ? [] : [{ name: `${name}/${own}`, content: Buffer.from(content) }],
    );
    const output = options.output ?? `${name}.tar.gz`;
    const archive = gzipSync(tar(entries, now));
    writeNewFile(output, archive, 'Name another file with --output.', 0o600);
    stdout.write(
      `${contents}\nWrote ${printable(output)} (${printBytes(archive.length)}), readable by you alone.\n`,
    );
    return ExitCode.done;
  },
});

function summaryLine({ name, about, leftOut }: SupportFile): string {
  const what = leftOut === undefined ? about : `LEFT OUT: ${printable(leftOut)}`;
  return `${name.padEnd(14)}  ${what}\n`;
}
