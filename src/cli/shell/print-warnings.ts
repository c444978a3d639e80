import { configWarnings } from '../../config/config-warnings.ts';
import type { Config } from '../../config/contract/config.ts';
import { printable } from '../../platform/text/printable.ts';
import type { LogStream } from '../../telemetry/logger.ts';

/** Prints what is valid in a configuration and may still not be meant. It changes no exit code. */
export function printWarnings(config: Config, stderr: LogStream): void {
  for (const warning of configWarnings(config)) stderr.write(`warning: ${printable(warning)}\n`);
}
