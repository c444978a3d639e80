import { z } from 'zod';
import { isSmtpUrl, WRONG_SMTP_URL } from '../../platform/mail/smtp.ts';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import { storeAnswers } from '../store-answers.ts';

/** Returns the schema of the options of an email sink, without those common to every sink. */
export const emailOptions = builtOnce(() =>
  z.strictObject({
    server: secret()
      .refine((url) => isSmtpUrl(url.reveal()), WRONG_SMTP_URL)
      .describe(
        'URL of the SMTP server: smtp://user:password@host:587, or smtps:// for TLS from the start. With a password, smtp:// requires STARTTLS unless the server is on this machine. leadsync shows only its host and port.',
      ),
    from: z
      .email('must be an email address such as leads@example.com')
      .describe('Sender of the emails. Its domain is also that of the message ids.'),
    store_answers: storeAnswers(
      'to find the email in the log of the server by the id that the server gave it',
    ),
  }),
);
