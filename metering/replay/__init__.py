"""A prefill/decode cluster that never was: traces in, what SGLang's nodes write and serve out."""
