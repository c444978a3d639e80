import { configWarnings } from '../../config/config-warnings.ts';
import type { Config } from '../../config/contract/config.ts';
import { printable } from '../../platform/text/printable.ts';
import type { LogStream } from '../../telemetry/logger.ts';

/** Prints the configuration's warnings. They do not change the exit code. */
export function printWarnings(config: Config, stderr: LogStream): void {
  for (const warning of configWarnings(config)) stderr.write(`warning: ${printable(warning)}\n`);
}
