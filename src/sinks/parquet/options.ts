import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { bucketOptions, placeOptions, requireOnePlace } from '../drop/drop-options.ts';

/** Returns the schema of the options of a parquet sink, without those common to every sink. */
export const parquetOptions = builtOnce(() =>
  z
    .strictObject({
      ...placeOptions(
        'The folder to drop files in, with a folder for each day. leadsync creates it if it is missing.',
      ),
      ...bucketOptions(),
    })
    .superRefine(requireOnePlace),
);
