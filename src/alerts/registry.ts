import { email } from './email.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';

/** Every type of destination. A new type needs an import and an entry here. */
export const destinationTypes = [webhook, slack, email] as const;
