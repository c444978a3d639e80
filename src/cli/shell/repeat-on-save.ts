import { ConfigError } from '../../config/contract/config-error.ts';
import { stampOf, watchConfig } from '../../daemon/watching/watch-config.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printMoment } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { CommandFailure } from './command-failure.ts';
import type { GlobalOptions, Surroundings } from './context.ts';
import { ExitCode } from './exit-code.ts';
import { explainFailure } from './explain-failure.ts';

/**
 * Calls `show` now and after each change to the configuration file, until Ctrl-C or until the output is closed. If `show` throws a
 * ConfigError or a CommandFailure, writes its message to standard error and continues.
 */
export async function repeatOnSave(
  { config: file }: GlobalOptions,
  { stdout, stderr, clock }: Surroundings,
  show: () => void,
): Promise<void> {
  const stop = listenForStop(() => process.exit(ExitCode.notDone));
  const unread = new AbortController();
  stdout.on?.('error', () => unread.abort());
  const stamp = () => stampOf({ file, secretFiles: [] });
  let shown = '';
  const showNow = () => {
    shown = stamp(); // before the file is read, because it may be saved meanwhile
    try {
      show();
    } catch (error) {
      if (!(error instanceof ConfigError || error instanceof CommandFailure)) throw error;
      stderr.write(`${explainFailure(error).message}\n`);
    }
  };
  showNow();
  stderr.write(`Watching ${printable(file)}. Press Ctrl-C to stop.\n`);
  const showAgain = async () => {
    stdout.write(`\n${printMoment(clock.now())}  ${printable(file)} was saved\n`);
    showNow();
  };
  await watchConfig(stamp, () => shown, showAgain, clock, AbortSignal.any([stop.signal, unread.signal]));
  stop.release();
}
