import { csv } from './csv/csv-type.ts';
import { email } from './email/email-type.ts';
import { exec } from './exec/exec-type.ts';
import { hubspot } from './hubspot/hubspot-type.ts';
import { kafka } from './kafka/kafka-type.ts';
import { mysql } from './mysql/mysql-type.ts';
import { parquet } from './parquet/parquet-type.ts';
import { pipedrive } from './pipedrive/pipedrive-type.ts';
import { postgres } from './postgres/postgres-type.ts';
import { salesforce } from './salesforce/salesforce-type.ts';
import type { SinkType } from './sink-type.ts';
import { slack } from './slack/slack-type.ts';
import { webhook } from './webhook/webhook-type.ts';

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
