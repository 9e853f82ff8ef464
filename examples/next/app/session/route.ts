import { sessionHandler } from "user-group-service/server";
import { product } from "../../product";

export const POST = sessionHandler(product);
