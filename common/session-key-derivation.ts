/** How a signing key becomes a scalar. `ug doctor` derives the public keys from it too, in Node. */
export const SESSION_KEY = {
  /** Must never change: another text derives other keys, and ends all sessions. */
  info: "user-group-service viewer session ES256 v1",
  /** 128 bits more than the order has, so that the remainder is as good as uniform; FIPS 186-5, A.2.1, needs 64. */
  derivedBytes: 48,
  /** The order of the base point of P-256 (SP 800-186, section 3.2.1.3). */
  order: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
};
