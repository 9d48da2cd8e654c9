/**
 * When a number added to a logit, or put in its place, hides a token.
 */

/** At most this: no softmax of logits of a working model gives such a token a weight above 0. */
export const NEVER_SEEN = -10000;
