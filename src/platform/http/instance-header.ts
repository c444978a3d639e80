/** In every answer of the admin server: the id of the process that gave it, by which a command knows the leadsync that it means. */
export const INSTANCE_HEADER = 'x-leadsync-instance';
