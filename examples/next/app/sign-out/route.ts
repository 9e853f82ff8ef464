import { signOutHandler } from "user-group-service/server";
import { product, signOut } from "../../product";

export const POST = signOutHandler(() => ({ ...product(), signOut }));
