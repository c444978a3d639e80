import { z } from 'zod';
import { isPlainHttp } from '../../platform/http/plain-http.ts';
import { duration, secret, size } from '../../platform/options/option-types.ts';

/** The options of one source, as written in the configuration; when and how often to poll is not among them. */
export const sourceOptions = z.strictObject({
  base_url: z
    .string()
    .superRefine((text, context) => {
      const fault =
        faultOfAddress(text) ?? (/[?#]/.test(text) ? 'must have no query and no fragment' : undefined);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .transform((text) => text.replace(/\/+$/, ''))
    .describe('Where the service is, such as https://leads.example.com. The paths below are added to it.'),
  client_id: z
    .string()
    .min(1, 'must not be empty')
    .describe('The OAuth client that leadsync is to the service.'),
  client_secret: secret().describe("The OAuth client's secret."),
  scope: z
    .string()
    .min(1, 'must not be empty; leave it out to ask for no scope')
    .optional()
    .describe('The scopes to ask for, separated by spaces. Absent: none are named, and the service decides.'),
  grant: z
    .enum(['client_credentials', 'authorization_code'])
    .optional()
    .describe(
      'Who leadsync is to the service: `client_credentials`, the client itself; `authorization_code`, a person who has logged in (`leadsync login`). Absent: the person once somebody has logged in, else the client. leadsync never changes from the one to the other by itself.',
    ),
  leads_path: z
    .string()
    .regex(/^\/[^#\s]*$/, 'must begin with / and have no fragment or space')
    .default('/api/v1/leads')
    .describe('The path of the listing. May have a query; what the query leaves out is never seen.'),
  token_path: path('/oauth/token').describe('The path of the token endpoint.'),
  authorize_path: path('/oauth/authorize').describe('The path of the page that `leadsync login` opens.'),
  redirect_uri: z
    .string()
    .superRefine((text, context) => {
      const fault = faultOfAddress(text) ?? (text.includes('#') ? 'must have no fragment' : undefined);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: fault });
    })
    .optional()
    .describe(
      'Where the service sends the browser after `leadsync login`, exactly as registered there. Absent: a free port on 127.0.0.1.',
    ),
  pagination: z
    .enum(['none', 'link', 'page'])
    .default('none')
    .describe(
      'How the listing is divided: `none`, one answer holds every lead; `link`, each answer names the next in its Link header; `page`, a page number in the query, until a page is empty.',
    ),
  page_parameter: z
    .string()
    .min(1, 'must not be empty')
    .default('page')
    .describe('The name of the page number in the query; used with `pagination: page`.'),
  timeout: duration()
    .refine((ms) => ms > 0, 'must be more than 0')
    .prefault('30s')
    .describe(
      'The longest wait for a connection, for the first byte of an answer, and between two of its parts.',
    ),
  deadline: duration()
    .refine((ms) => ms > 0, 'must be more than 0')
    .prefault('10m')
    .describe('The longest that reading one whole listing may take, all of its pages included.'),
  max_lead_size: size()
    .refine((bytes) => bytes >= 1024, 'must be 1kb or more')
    .prefault('8mb')
    .describe(
      'A lead larger than this is set aside as rejected, with the beginning of its text. Memory grows with it: see sizes and limits in operating.md.',
    ),
});

/** A source's options after validation: durations in ms, sizes in bytes, `base_url` without a slash at its end. */
export type SourceOptions = z.output<typeof sourceOptions>;

/** What is valid in a source's options and may still not be meant, a sentence each. */
export function sourceWarnings({ base_url, leads_path }: SourceOptions): readonly string[] {
  const plain =
    'base_url is http:// to another host, so client_secret, tokens and leads cross the network unencrypted. Use https://.';
  const [path = ''] = leads_path.split('?');
  const twice = `base_url ends in ${path}, and leads_path is added to it. Leave ${path} out of base_url.`;
  return [
    ...(isPlainHttp(base_url) ? [plain] : []),
    ...(path !== '/' && base_url.endsWith(path) ? [twice] : []),
  ];
}

function path(standard: string) {
  return z
    .string()
    .regex(/^\/[^?#\s]*$/, 'must begin with / and have no query, fragment or space')
    .default(standard);
}

function faultOfAddress(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return 'must be an http or https address such as https://leads.example.com';
  }
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  return undefined;
}
