import { csv } from './csv/csv.ts';
import { parquet } from './parquet/parquet.ts';
import { postgres } from './postgres/postgres.ts';
import type { SinkType } from './sink.ts';
import { webhook } from './webhook/webhook.ts';

/** Every type of sink. Adding one adds an import and a word here. */
export const sinkTypes: readonly SinkType[] = [webhook, csv, parquet, postgres];
