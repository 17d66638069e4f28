"""ropewalk.hf: models of transformers, built from their config classes with random weights."""

import copy
import functools

import pytest

import ropewalk

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import ropewalk.hf  # noqa: E402
from hf_models import ALL, AUTO, IDS, MODELS, TOLERANCE, make, outputs, sharpened, without_rotation  # noqa: E402

# The name that all releases take.
pytestmark = pytest.mark.filterwarnings("ignore:`past_key_values` is deprecated")


@pytest.mark.parametrize("name", ALL)
def test_logits_are_those_of_the_model(name):
    model = make(name)
    assert sharpened(model, IDS) > 100 * TOLERANCE
    other = copy.deepcopy(model)
    wanted = outputs(model, IDS)
    assert ropewalk.hf.patch(model) is model
    got = outputs(model, IDS)
    assert not torch.equal(got, wanted), "nothing was replaced"
    torch.testing.assert_close(got, wanted, rtol=0, atol=TOLERANCE)
    # Only this instance.
    assert torch.equal(outputs(other, IDS), wanted)
    # Left-padded: the second sequence stands further left.
    mask = torch.ones_like(IDS)
    mask[1, :7] = 0
    seen = mask.bool()
    torch.testing.assert_close(outputs(model, IDS, attention_mask=mask)[seen],
                               outputs(other, IDS, attention_mask=mask)[seen], rtol=0, atol=TOLERANCE)
    # Far out in the context, and with gaps.
    for positions in (torch.arange(24) + 4000, torch.arange(24) * 170):
        far = {"position_ids": positions.expand(2, -1)}
        torch.testing.assert_close(outputs(model, IDS, **far), outputs(other, IDS, **far), rtol=0, atol=TOLERANCE)
    ropewalk.hf.unpatch(model)
    assert torch.equal(outputs(model, IDS), outputs(other, IDS))  # (a dynamic rule has seen longer ones since)


def farther(name, logits):
    """How much farther from the float32 model's the logits in bfloat16 are when it is patched, at the worst token.

    The mean over sequences and logits: one number is what its roundings happen to be.
    """
    exact_model = make(name)
    sharpened(exact_model, IDS)
    model = make(name, torch.bfloat16)
    model.load_state_dict(exact_model.state_dict())
    exact = logits(exact_model)

    def distances():
        return (logits(model).float() - exact).abs().mean((0, 2))
    own = distances()
    ropewalk.hf.patch(model)
    return (distances() / own).max()


@pytest.mark.parametrize("name", MODELS)
def test_in_bfloat16_it_is_no_farther_from_float32(name):
    ids = torch.randint(3, 128, (64, 24), generator=torch.Generator().manual_seed(3))
    assert farther(name, lambda model: outputs(model, ids)) <= 1.1


def by_steps(model, ids, mask, prompt=16):
    """Logits of the last token of a prompt, and of each after it, with a cache: [batch, tokens, vocabulary]."""
    positions = mask.cumsum(1).sub(1).clamp(min=0)
    logits, cache, begin = [], None, 0
    with torch.no_grad():
        for end in range(prompt, ids.shape[1] + 1):
            result = model(input_ids=ids[:, begin:end], attention_mask=mask[:, :end],
                           position_ids=positions[:, begin:end], past_key_values=cache, use_cache=True)
            logits.append(result.logits[:, -1])
            cache, begin = result.past_key_values, end
    return torch.stack(logits, 1)


CAUSAL = [name for name in MODELS if name not in AUTO]


@pytest.mark.parametrize("name", CAUSAL)
def test_in_bfloat16_with_a_cache_it_is_no_farther_from_float32(name):
    ids = torch.randint(3, 128, (64, 20), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    mask[::2, :7] = 0  # left-padded
    assert farther(name, lambda model: by_steps(model, ids, mask)) <= 1.1


@pytest.mark.parametrize("name", CAUSAL)
def test_greedy_generation_with_a_cache_gives_the_same_tokens(name):
    model = make(name)
    sharpened(model, IDS)
    mask = torch.ones_like(IDS)
    mask[1, :7] = 0
    arguments = {"attention_mask": mask, "max_new_tokens": 12, "min_new_tokens": 12, "do_sample": False}
    wanted = model.generate(IDS, **arguments)
    ropewalk.hf.patch(model)
    assert torch.equal(model.generate(IDS, **arguments), wanted)


def test_every_family_has_a_model_here():
    assert {name.partition(",")[0] for name in ALL} == set(ropewalk.hf.families())


def test_gradients_are_those_of_the_model():
    model = make("llama")
    sharpened(model, IDS)

    def gradients():
        model.zero_grad()
        model(input_ids=IDS, labels=IDS).loss.backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    wanted = gradients()
    ropewalk.hf.patch(model)
    for one, other in zip(gradients(), wanted):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_what_is_not_supported_is_refused_by_name_and_nothing_is_changed():
    # It turns the other way, by a function of the same name.
    nanochat = transformers.NanoChatForCausalLM(transformers.NanoChatConfig(
        vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2))
    with pytest.raises(NotImplementedError, match="nanochat is no family that is supported.*: .*llama"):
        ropewalk.hf.patch(nanochat)
    assert all("forward" not in vars(module) for module in nanochat.modules())
    with pytest.raises(TypeError, match="model is a int"):
        ropewalk.hf.patch(3)
    gpt2 = transformers.GPT2Model(transformers.GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=64))
    with pytest.raises(ValueError, match="GPT2Model has no rotary embedding"):
        ropewalk.hf.patch(gpt2)
    model = make("llama")
    with pytest.raises(ValueError, match="is not patched"):
        ropewalk.hf.unpatch(model)
    ropewalk.hf.patch(model)
    with pytest.raises(ValueError, match="patched already"):
        ropewalk.hf.patch(model)


def test_a_copy_is_patched_and_is_its_own():
    model = make("llama")
    sharpened(model, IDS)
    wanted = outputs(model, IDS)
    ropewalk.hf.patch(model)
    other = copy.deepcopy(model)
    patched = outputs(model, IDS)
    still = outputs(without_rotation(model), IDS)
    assert (still - wanted).abs().max() > 100 * TOLERANCE  # a copy's frequencies are the copy's
    ropewalk.hf.unpatch(model)
    assert torch.equal(outputs(model, IDS), wanted) and torch.equal(outputs(other, IDS), patched)
    ropewalk.hf.unpatch(other)
    assert torch.equal(outputs(other, IDS), wanted)


def test_what_is_saved_is_the_model_itself(tmp_path):
    model = make("llama")
    wanted = outputs(model, IDS)
    ropewalk.hf.patch(model)
    torch.save(model, tmp_path / "model.pt")
    model.save_pretrained(tmp_path)
    pickled = torch.load(tmp_path / "model.pt", weights_only=False)
    loaded = type(model).from_pretrained(tmp_path, attn_implementation="eager").eval()
    for other in (pickled, loaded):
        assert torch.equal(outputs(other, IDS), wanted)
        ropewalk.hf.patch(other)
        assert torch.equal(outputs(other, IDS), outputs(model, IDS))


def test_parts_of_a_model():
    model = make("llama")
    wanted = outputs(model, IDS)
    ropewalk.hf.patch(model.model)
    patched = outputs(model, IDS)
    assert not torch.equal(patched, wanted)
    with pytest.raises(ValueError, match="patched already, or a part of it"):
        ropewalk.hf.patch(model)
    ropewalk.hf.unpatch(model)
    assert torch.equal(outputs(model, IDS), wanted)
    with pytest.raises(ValueError, match="not patched"):
        ropewalk.hf.unpatch(model.model)
    ropewalk.hf.patch(model)
    ropewalk.hf.unpatch(model.model)
    ropewalk.hf.patch(model)
    assert torch.equal(outputs(model, IDS), patched)


def test_derived_classes_are_patched_or_refused_and_never_in_part():
    from transformers.models.llama import modeling_llama

    class Same(modeling_llama.LlamaAttention):
        pass

    class Other(modeling_llama.LlamaAttention):
        def forward(self, hidden_states, position_embeddings, **_):
            return hidden_states * position_embeddings[0].mean(), None

    class Embedding(modeling_llama.LlamaRotaryEmbedding):
        def forward(self, x, position_ids):
            return super().forward(x, position_ids + 1)

    model = make("llama")
    wanted = outputs(model, IDS)
    model.model.layers[1].self_attn.__class__ = Same
    ropewalk.hf.patch(model)
    torch.testing.assert_close(outputs(model, IDS), wanted, rtol=0, atol=TOLERANCE)
    ropewalk.hf.unpatch(model)
    for kind, module, message in ((Other, model.model.layers[1].self_attn, "Other does not call apply_rotary_pos_emb"),
                                  (Embedding, model.model.rotary_emb, "Embedding has a forward of its own")):
        own, module.__class__ = type(module), kind
        with pytest.raises(NotImplementedError, match=message):
            ropewalk.hf.patch(model)
        module.__class__ = own
    attention = model.model.layers[2].self_attn
    attention.forward = functools.partial(attention.forward)  # as a hook does
    with pytest.raises(ValueError, match="model.layers.2.self_attn.forward was replaced"):
        ropewalk.hf.patch(model)
    del attention.forward
    assert all("forward" not in vars(module) for module in model.modules())
    assert torch.equal(outputs(model, IDS), wanted)


def test_a_function_that_does_something_else_is_refused(monkeypatch):
    from transformers.models.llama import modeling_llama
    model = make("llama")
    own = modeling_llama.apply_rotary_pos_emb
    monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb",
                        lambda q, k, cos, sin, **rest: own(q, k, cos, -sin, **rest))
    with pytest.raises(NotImplementedError, match="apply_rotary_pos_emb of llama does something else"):
        ropewalk.hf.patch(model)
    assert all("forward" not in vars(module) for module in model.modules())


def test_decorators_of_a_forward_stay():
    import inspect
    model = make("llama")
    attention = model.model.layers[0].self_attn
    own = attention.forward.__func__
    ropewalk.hf.patch(model)
    assert inspect.signature(attention.forward.__func__) == inspect.signature(own)
    # transformers renames an argument by one: a cache by its old name must be filled.
    if hasattr(own, "__wrapped__"):
        cache = transformers.DynamicCache()
        x = torch.randn(1, 3, 64)
        embeddings = model.model.rotary_emb(x, torch.arange(3)[None])
        attention(x, position_embeddings=embeddings, attention_mask=None, past_key_values=cache)
        assert cache.get_seq_length() == 3
    calls = []

    def counted(function):
        @functools.wraps(function)
        def wrapper(*arguments, **named):
            calls.append(function)
            return function(*arguments, **named)
        return wrapper

    class Counted(type(attention)):
        forward = counted(type(attention).forward)

    ropewalk.hf.unpatch(model)
    wanted = outputs(model, IDS)
    attention.__class__ = Counted
    ropewalk.hf.patch(model)
    torch.testing.assert_close(outputs(model, IDS), wanted, rtol=0, atol=TOLERANCE)
    assert len(calls) == 1


def test_a_patched_model_compiles():
    model = make("llama, dynamic")
    del model.model.layers[2:]  # two are alike, as far as a compiler sees
    sharpened(model, IDS)
    ropewalk.hf.patch(model)
    wanted = outputs(model, IDS)
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        result = compiled(input_ids=IDS, use_cache=False)
    torch.testing.assert_close(result.logits, wanted, rtol=0, atol=TOLERANCE)


def test_positions_of_other_integers():
    model = make("llama")
    positions = (torch.arange(24) + 100).expand(2, -1)
    ropewalk.hf.patch(model)
    wanted = outputs(model, IDS, position_ids=positions)
    assert torch.equal(outputs(model, IDS, position_ids=positions.to(torch.int16)), wanted)
