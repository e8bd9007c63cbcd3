import { revalidatePath, revalidateTag } from "next/cache";

export async function POST() {
  revalidateTag("shelf", { expire: 0 });
  revalidatePath("/");
  return new Response("stale");
}
