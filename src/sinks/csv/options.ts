import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { bucketOptions, placeOptions, requireOnePlace } from '../drop/drop-options.ts';

/** Returns the schema of the options of a csv sink, without those common to every sink. */
export const csvOptions = builtOnce(() =>
  z
    .strictObject({
      ...placeOptions('The folder to drop files in. leadsync creates it if it is missing.'),
      formulas: z
        .enum(['neutralise', 'keep'])
        .default('neutralise')
        .describe(
          'What to do with a cell that a spreadsheet would run as a formula: `neutralise` puts an apostrophe in front, `keep` leaves it unchanged.',
        ),
      bom: z
        .boolean()
        .default(false)
        .describe('Whether each file begins with a byte-order mark, by which Excel recognises UTF-8.'),
      ...bucketOptions(),
    })
    .superRefine(requireOnePlace),
);

/** The options that decide what a CSV file contains, validated. */
export type ContentOptions = Pick<z.output<ReturnType<typeof csvOptions>>, 'formulas' | 'bom'>;
