import { email } from './email.ts';
import { slack } from './slack.ts';
import { webhook } from './webhook.ts';

/** Every type of destination. Adding one adds an import and a word here. */
export const destinationTypes = [webhook, slack, email] as const;
