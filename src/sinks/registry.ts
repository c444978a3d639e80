import { csv } from './csv/csv.ts';
import { email } from './email/email.ts';
import { exec } from './exec/exec.ts';
import { hubspot } from './hubspot/hubspot.ts';
import { kafka } from './kafka/kafka.ts';
import { mysql } from './mysql/mysql.ts';
import { parquet } from './parquet/parquet.ts';
import { pipedrive } from './pipedrive/pipedrive.ts';
import { postgres } from './postgres/postgres.ts';
import { salesforce } from './salesforce/salesforce.ts';
import type { SinkType } from './sink-type.ts';
import { slack } from './slack/slack.ts';
import { webhook } from './webhook/webhook.ts';

/** Every type of sink. A new type needs an import and an entry here. */
export const sinkTypes: readonly SinkType[] = [
  webhook,
  csv,
  parquet,
  postgres,
  mysql,
  kafka,
  slack,
  email,
  hubspot,
  salesforce,
  pipedrive,
  exec,
];
