import { z } from 'zod';
import { bucketOptions, placeOptions, requireOnePlace } from '../drop/drop-options.ts';

/** The options of a parquet sink, without those common to every sink. */
export const parquetOptions = z
  .strictObject({
    ...placeOptions(
      'The folder to drop files in, with a folder for each day. leadsync creates it if it is missing.',
    ),
    ...bucketOptions,
  })
  .superRefine(requireOnePlace);
