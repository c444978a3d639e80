/**
 * Why a delivery is dead whose lead lost its text to damage. When the source lists the lead with the same content, the delivery is
 * pending again.
 */
export const LOST_TEXT =
  'the text of this lead was lost when the ledger was damaged; it goes out when the source lists the lead again';
