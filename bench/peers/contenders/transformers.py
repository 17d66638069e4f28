"""transformers' own functions, eager: those of Gemma 3n (halves) and GPT-J (adjacent), which take one
tensor; those of most models are the same lines for q and k."""

import torch
import transformers
from transformers.models.gemma3n.modeling_gemma3n import apply_rotary_pos_emb as of_gemma3n
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as of_gptj

from contender import Contender
from contenders.pytorch import FORM, tables, tensor, without_gradients


def prepare(work):
    x, (cos, sin) = tensor(work), tables(work)
    if work.pairing == "adjacent":
        return without_gradients(of_gptj, x, sin, cos)
    cos, sin = torch.cat((cos, cos), -1), torch.cat((sin, sin), -1)
    return without_gradients(lambda *given: of_gemma3n(*given, unsqueeze_dim=2), x, cos, sin)


def contenders():
    return [Contender("transformers", FORM, prepare)]


def versions():
    return {"transformers": transformers.__version__}
